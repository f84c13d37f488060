# Takes the uv binary out of its wheel.
import glob, os, sys, zipfile

(wheel,) = glob.glob("/wheelbase/wheel/*.whl")
with zipfile.ZipFile(wheel) as archive:
    (member,) = [name for name in archive.namelist() if name.endswith(".data/scripts/uv")]
    data = archive.read(member)
with open("/wheelbase/out/uv", "wb") as out:
    out.write(data)
os.chmod("/wheelbase/out/uv", 0o755)
os.utime("/wheelbase/out/uv", (315532800, 315532800))
