"""WebAssembly on the host: the shared wasmtime engine, compiled modules, and address space.

Importing this package loads nothing else: an engine that only asks how many addresses are left
needs no wasmtime.
"""
