"""Installs public MCP servers, the Inspector and the conformance suite into a folder.

Each server from PyPI gets an environment of its own, as `pipx` and `uvx` do it: servers disagree
on the version of the SDK.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

#: Servers from PyPI, pinned.
SERVERS = {
    "mcp-math-server": "0.1.9",
    "mcp-server-calculator": "0.2.1",
    "mcp-server-fetch": "2026.10.24",
    "mcp-server-git": "2026.10.19",
    "mcp-server-sqlite": "2025.4.25",
    "mcp-server-time": "2026.10.19",
}
#: Requirements beside servers that do not bound the version of their SDK themselves.
BESIDE = {"mcp-math-server": ["mcp<2"], "mcp-server-sqlite": ["mcp<2"]}


def install(folder: Path) -> None:
    """Install what is not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(Path(__file__).parent / "package.json", folder)
    npm = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"]
    subprocess.run(npm, cwd=folder, check=True)
    for name, version in SERVERS.items():
        made = folder / name
        if (made / "done").exists():
            continue
        subprocess.run([sys.executable, "-m", "venv", "--clear", made], check=True)
        wanted = [f"{name}=={version}", *BESIDE.get(name, [])]
        pip = [made / "bin" / "python", "-m", "pip", "install", "-q", *wanted]
        subprocess.run(pip, check=True)
        (made / "done").touch()


if __name__ == "__main__":
    install(Path(sys.argv[1]).resolve())
