"""WebAssembly on the host: the shared wasmtime engine, compiled modules, and address space.

Importing this package loads nothing else: an engine that only asks for the free address space needs
no wasmtime.
"""
