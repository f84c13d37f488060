import os
import signal
import sys

from serve import server


def main():
    # The first process of a container has no default handler: without this one `docker stop` waits in vain.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with server(os.environ["SERVE_CONFIG"]) as running:
        running.serve_forever()


if __name__ == "__main__":
    main()
