"""The command that starts the server."""

from __future__ import annotations

import argparse
import os
import tempfile

import uvicorn

from interpstack_example_server.settings import Settings

__all__ = ["main"]


def main() -> None:
    """Start the workers, and end when they have ended."""
    parser = argparse.ArgumentParser(prog="interpstack-example-server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    Settings.from_environment()  # a wrong setting is told once, before workers start
    with tempfile.TemporaryDirectory() as directory:
        os.environ.setdefault("PROMETHEUS_MULTIPROC_DIR", directory)
        uvicorn.run(
            "interpstack_example_server.app:make_app",
            factory=True,
            host=options.host,
            port=options.port,
            workers=options.workers,
            timeout_graceful_shutdown=60,
            ws_max_size=1_000_000,  # bytes of a message
            timeout_worker_healthcheck=120,
        )


if __name__ == "__main__":
    main()
