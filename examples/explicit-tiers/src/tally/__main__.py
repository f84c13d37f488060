import sys
from pathlib import Path

from tally import most_frequent

path = Path(sys.argv[1] if len(sys.argv) > 1 else sys.executable)
for byte, count in most_frequent(path.read_bytes()):
    print(f"0x{byte:02x} {count}")
