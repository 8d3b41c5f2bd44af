"""The WebAssembly instance below a guest: its memory, its calls and its time."""
