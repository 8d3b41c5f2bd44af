"""The parser of JavaScript and TypeScript: OXC, as WebAssembly, with trees as plain data.

`parser.wasm` is the WebAssembly build of the npm package `oxc-parser` (see README.md beside it). It
is a Node add-on, so `napi.py` holds the part of Node's N-API that it calls; `parsing.py` parses.

Tried before: regular expressions over tokens (misread `import` as the name of a method, and slashes
after `}`), acorn inside a guest (10 ms for a cell of 2 KB on QuickJS; this parser takes 1 ms).
"""
