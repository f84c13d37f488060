# What a compiler cache did for a wheel: a file for the frontend, and a line for the log.
# Arguments: wheel; compiler cache (ccache | sccache | none); what the tool has recorded; "known" when this wheel was
# compiled before with the same compilers and packages; when the step began, in seconds since 1970; the file to write; where objects were kept
# (mount, or the kind of a store); "unreached" when that should have been a store.
import json, sys, time

name, tool, record, known, began, out, store, unreached = sys.argv[1:]
hits = misses = errors = 0
uncacheable = {}
if tool == "ccache":
    # A line with the source for each call, and below it a word for each thing that happened.
    calls = []
    with open(record, encoding="utf-8", errors="replace") as log:
        for line in log.read().splitlines():
            if line.startswith("# "):
                calls.append([])
            elif line and calls:
                calls[-1].append(line)
    for words in calls:
        if "direct_cache_hit" in words or "preprocessed_cache_hit" in words:
            hits += 1
        elif "cache_miss" in words:
            misses += 1
        elif not {"called_for_link", "called_for_preprocessing", "no_input_file", "autoconf_test"} & set(words):
            reasons = [word for word in words if not word.endswith(("_cache_miss", "_miss", "_hit", "_read", "_write"))]
            reason = reasons[-1].replace("_", " ") if reasons else "unknown"
            uncacheable[reason] = uncacheable.get(reason, 0) + 1
elif tool == "sccache":
    with open(record, encoding="utf-8") as file:
        stats = json.load(file)["stats"]
    hits = sum(stats["cache_hits"]["counts"].values())
    misses = sum(stats["cache_misses"]["counts"].values())
    errors = sum(stats["cache_errors"]["counts"].values())
    errors += sum(stats[word] for word in ("cache_timeouts", "cache_read_errors", "cache_write_errors"))
    uncacheable = dict(stats["not_cached"])
    if stats["requests_unsupported_compiler"]:
        uncacheable["unsupported compiler"] = stats["requests_unsupported_compiler"]
ended = time.time()
counts = {
    "tool": tool,
    "store": store,
    "unreached": unreached == "unreached",
    "hits": hits,
    "misses": misses,
    "errors": errors,
    "uncacheable": uncacheable,
    "known": known == "known",
    "ended": int(ended * 1000),
    "seconds": int(ended) - int(began),
}
with open(out, "w", encoding="utf-8") as file:
    json.dump(counts, file, sort_keys=True)
if tool != "none":
    print(f"wheelbase: {name}: {tool} hits={hits} misses={misses} uncacheable={sum(uncacheable.values())}")
