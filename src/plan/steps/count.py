# What a compiler cache did for a wheel: a file for the frontend, and a line for the log.
# Arguments: wheel; compiler cache (ccache | sccache | none); what the tool has recorded; "known" when this wheel was
# compiled before with the same compilers and packages; when the step began, in seconds since 1970; the file.
import json, sys, time

name, tool, record, known, began, out = sys.argv[1:]
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
ended = int(time.time())
counts = {
    "tool": tool,
    "hits": hits,
    "misses": misses,
    "errors": errors,
    "uncacheable": uncacheable,
    "known": known == "known",
    "ended": ended,
    "seconds": ended - int(began),
}
with open(out, "w", encoding="utf-8") as file:
    json.dump(counts, file, sort_keys=True)
if tool != "none":
    print(f"wheelbase: {name}: {tool} hits={hits} misses={misses} uncacheable={sum(uncacheable.values())}")
