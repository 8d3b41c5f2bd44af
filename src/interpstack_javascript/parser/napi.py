"""The part of Node's N-API that the parser calls, for one instance of its WebAssembly module.

The parser is compiled as a Node add-on: values of its caller are handles, numbers that the caller
gives out. Here a handle is an index into a list, which is cut back after each call.

Source of the signatures: Node's documentation of N-API. Functions that the parser imports and never
calls while it parses stop it with their name.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import attrs
import wasmtime

from interpstack_wasm.stores import WasmLinker

__all__ = ["AddOn", "AddOnError", "TooManyItems"]

#: The one environment of an instance.
_ENV: Final = 1
#: How a status says that all is well.
_OK: Final = 0
#: Items of a list that are taken. Each costs a millisecond, and any character can be a fault.
_MOST_ITEMS: Final = 64
_PROPERTY: Final = struct.Struct("<8I")  # of `napi_property_descriptor`
_WORD: Final = struct.Struct("<I")
#: Types of values, in N-API's order.
_UNDEFINED, _NULL, _BOOLEAN, _NUMBER, _STRING, _OBJECT, _FUNCTION = 0, 1, 2, 3, 4, 6, 7


class AddOnError(Exception):
    """The parser threw, or asked for something that it is not given."""


class TooManyItems(AddOnError):
    """A list of the parser's is too long; `items` are its first ones."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(f"the parser made a list of more than {len(items)} items")
        self.items = items


class _Undefined:
    """JavaScript's `undefined`."""


_UNDEFINED_VALUE: Final = _Undefined()


@attrs.define(eq=False)
class _Function:
    """A function of the add-on; `getters` are those of the class that it constructs."""

    callback: int
    data: int
    getters: dict[str, _Function] = attrs.Factory(dict)


@attrs.define(eq=False)
class _Object:
    """An instance of one of the add-on's classes.

    Attributes:
        native: Address of what it wraps.
        finalizer: Function that frees it, with the last argument for it.
    """

    made_by: _Function
    native: int = 0
    finalizer: tuple[int, int] = (0, 0)

    def wrap(self, native: int, finalizer: tuple[int, int]) -> None:
        """Take what the add-on keeps in the object."""
        self.native, self.finalizer = native, finalizer


class AddOn:
    """An instance of the parser's module.

    Args:
        store: The store that the instance lives in; its deadline holds for all calls.
        module: The compiled module.

    Raises:
        wasmtime.WasmtimeError: There is no memory for an instance.
    """

    def __init__(self, store: wasmtime.Store, module: wasmtime.Module) -> None:
        self._store = store
        self._values: list[Any] = [_UNDEFINED_VALUE]
        self._thrown: Any = None
        self._frame: tuple[Sequence[Any], Any, int] = ((), _UNDEFINED_VALUE, 0)
        self._references: list[Any] = []
        linker = WasmLinker(store.engine)
        for wanted in module.imports:
            kind = wanted.type
            if isinstance(kind, wasmtime.MemoryType):
                self._memory = wasmtime.Memory(store, kind)
                linker.define(store, wanted.module, wanted.name or "", self._memory)
            elif isinstance(kind, wasmtime.FuncType):
                function = wasmtime.Func(store, kind, self._import(wanted.name or "", kind))
                linker.define(store, wanted.module, wanted.name or "", function)
        exports: Mapping[str, Any] = dict(linker.instantiate(store, module).exports(store))
        self._table = exports["__indirect_function_table"]
        exports["_initialize"](store)
        self._offered: dict[str, Any] = {}
        for exported in module.exports:
            if exported.name.startswith("__napi_register__"):
                exports[exported.name](store)
        exports["napi_register_wasm_v1"](store, _ENV, self._handle(self._offered))
        del self._values[1:]

    @property
    def memory_bytes(self) -> int:
        """The size of the instance's memory, which never shrinks."""
        return int(self._memory.data_len(self._store))

    def read(self, function: str, args: Sequence[Any], getters: Sequence[str]) -> list[Any]:
        """Call a function of the add-on, and read attributes of the object that it returns.

        The object is freed before this returns.

        Args:
            function: The name of the function.
            args: Texts, numbers, booleans, `None` and dictionaries of these.
            getters: Names of attributes.

        Raises:
            AddOnError: It threw, or there is no such function or attribute.
            TooManyItems: A list is too long; the instance cannot be used again.
            wasmtime.Trap: It was stopped; the instance cannot be used again.
        """
        result = self._call(self._named(self._offered, function), args, _UNDEFINED_VALUE)
        if not isinstance(result, _Object):
            raise AddOnError(f"{function} returned no object")
        classes = result.made_by.getters
        found = [self._call(self._named(classes, name), (), result) for name in getters]
        del self._values[1:]
        callback, hint = result.finalizer
        if callback:
            self._table.get(self._store, callback)(self._store, _ENV, result.native, hint)
        return found

    @staticmethod
    def _named(functions: dict[str, Any], name: str) -> _Function:
        found = functions.get(name)
        if not isinstance(found, _Function):
            raise AddOnError(f"the parser has no {name}")
        return found

    def _call(self, function: _Function, args: Sequence[Any], this: Any) -> Any:
        outer, self._frame = self._frame, (args, this, function.data)
        try:
            handle = self._table.get(self._store, function.callback)(self._store, _ENV, 0)
        finally:
            self._frame = outer
        if self._thrown is not None:
            thrown, self._thrown = self._thrown, None
            raise AddOnError(str(thrown))
        return self._values[handle]

    def _import(self, name: str, kind: wasmtime.FuncType) -> Callable[..., Any]:
        implemented = getattr(self, f"_{name}", None)
        if implemented is None:
            return partial(self._refuse, name)
        if not kind.results:
            return implemented  # type: ignore[no-any-return]

        def status(*args: int) -> int:
            implemented(*args)
            return _OK

        return status

    def _refuse(self, name: str, *_: int) -> int:
        raise AddOnError(f"the parser called {name}, which it is not given")

    # -- handles and memory ------------------------------------------------------------------

    def _handle(self, value: Any) -> int:
        self._values.append(value)
        return len(self._values) - 1

    def _put(self, address: int, value: Any) -> None:
        self._write_word(address, self._handle(value))

    def _write_word(self, address: int, word: int) -> None:
        self._memory.write(self._store, _WORD.pack(word & 0xFFFFFFFF), address & 0xFFFFFFFF)

    def _write_flag(self, address: int, flag: bool) -> None:
        self._memory.write(self._store, bytes([flag]), address & 0xFFFFFFFF)

    def _word(self, address: int) -> int:
        return int(_WORD.unpack(self._bytes(address, _WORD.size))[0])

    def _bytes(self, address: int, length: int) -> bytes:
        start = address & 0xFFFFFFFF
        return bytes(self._memory.read(self._store, start, start + length))

    def _text(self, address: int, length: int = -1) -> str:
        if length < 0:  # up to a NUL; only names of attributes and messages end so
            near = self._bytes(address, min(512, self.memory_bytes - (address & 0xFFFFFFFF)))
            return near.partition(b"\0")[0].decode("utf-8", "replace")
        return self._bytes(address, length).decode("utf-8", "replace")

    # -- N-API -------------------------------------------------------------------------------

    def _napi_get_undefined(self, _env: int, result: int) -> None:
        self._put(result, _UNDEFINED_VALUE)

    def _napi_get_null(self, _env: int, result: int) -> None:
        self._put(result, None)

    def _napi_get_global(self, _env: int, result: int) -> None:
        self._put(result, {})

    def _napi_get_boolean(self, _env: int, value: int, result: int) -> None:
        self._put(result, bool(value))

    def _napi_create_uint32(self, _env: int, value: int, result: int) -> None:
        self._put(result, value & 0xFFFFFFFF)

    def _napi_create_string_utf8(self, _env: int, text: int, length: int, result: int) -> None:
        self._put(result, self._text(text, length))

    def _napi_create_object(self, _env: int, result: int) -> None:
        self._put(result, {})

    def _napi_create_array_with_length(self, _env: int, length: int, result: int) -> None:
        self._put(result, [None] * length)

    def _napi_create_error(self, _env: int, _code: int, message: int, result: int) -> None:
        self._put(result, self._values[message])

    def _napi_create_function(
        self, _env: int, _name: int, _length: int, callback: int, data: int, result: int
    ) -> None:
        self._put(result, _Function(callback, data))

    def _napi_create_threadsafe_function(self, *args: int) -> None:
        self._write_word(args[-1], 1)  # made when the add-on is registered, and never called

    def _napi_unref_threadsafe_function(self, *_: int) -> None: ...

    def _napi_add_env_cleanup_hook(self, *_: int) -> None: ...

    def _napi_define_class(
        self,
        _env: int,
        _name: int,
        _length: int,
        constructor: int,
        data: int,
        count: int,
        properties: int,
        result: int,
    ) -> None:
        made = _Function(constructor, data)
        for text, method, getter, _value, own in self._properties(count, properties):
            made.getters[text] = _Function(getter or method, own)
        self._put(result, made)

    def _napi_define_properties(self, _env: int, target: int, count: int, properties: int) -> None:
        for text, method, _getter, value, own in self._properties(count, properties):
            made = _Function(method, own) if method else self._values[value]
            self._values[target][text] = made

    def _properties(self, count: int, address: int) -> list[tuple[str, int, int, int, int]]:
        found = []
        for place in range(address, address + count * _PROPERTY.size, _PROPERTY.size):
            name, handle, method, getter, _, value, _, data = _PROPERTY.unpack(
                self._bytes(place, _PROPERTY.size)
            )
            text = self._text(name) if name else self._values[handle]
            found.append((text, method, getter, value, data))
        return found

    def _napi_set_named_property(self, _env: int, target: int, name: int, value: int) -> None:
        self._values[target][self._text(name)] = self._values[value]

    def _napi_get_named_property(self, _env: int, target: int, name: int, result: int) -> None:
        owner = self._values[target]
        known = owner if isinstance(owner, dict) else {}
        self._put(result, known.get(self._text(name), _UNDEFINED_VALUE))

    def _napi_set_element(self, _env: int, target: int, index: int, value: int) -> None:
        items = self._values[target]
        if index >= _MOST_ITEMS:
            raise TooManyItems(items[:_MOST_ITEMS])
        items[index] = self._values[value]

    def _napi_typeof(self, _env: int, value: int, result: int) -> None:
        self._write_word(result, _type_of(self._values[value]))

    def _napi_get_value_bool(self, _env: int, value: int, result: int) -> None:
        self._write_flag(result, bool(self._values[value]))

    def _napi_get_value_string_utf8(
        self, _env: int, value: int, buffer: int, size: int, result: int
    ) -> None:
        text = self._values[value].encode("utf-8", "replace")
        if buffer:
            text = text[: size - 1]
            self._memory.write(self._store, text + b"\0", buffer & 0xFFFFFFFF)
        if result:
            self._write_word(result, len(text))

    def _napi_get_cb_info(
        self, _env: int, _info: int, count: int, args: int, this: int, data: int
    ) -> None:
        given, receiver, own = self._frame
        if count:
            for index in range(self._word(count)):
                value = given[index] if index < len(given) else _UNDEFINED_VALUE
                self._put(args + 4 * index, value)
            self._write_word(count, len(given))
        if this:
            self._put(this, receiver)
        if data:
            self._write_word(data, own)

    def _napi_new_instance(
        self, _env: int, constructor: int, count: int, args: int, result: int
    ) -> None:
        made = _Object(self._values[constructor])
        given = [self._values[self._word(args + 4 * index)] for index in range(count)]
        self._call(made.made_by, given, made)
        self._put(result, made)

    def _napi_wrap(
        self, _env: int, target: int, native: int, finalizer: int, hint: int, result: int
    ) -> None:
        wrapped = self._values[target]
        wrapped.wrap(native, (finalizer, hint))
        if result:
            self._put(result, wrapped)

    def _napi_unwrap(self, _env: int, target: int, result: int) -> None:
        self._write_word(result, self._values[target].native)

    def _napi_create_reference(self, _env: int, value: int, _count: int, result: int) -> None:
        # Those that outlive a call are of classes, and made when the add-on is registered.
        self._references.append(self._values[value])
        self._write_word(result, len(self._references))

    def _napi_get_reference_value(self, _env: int, reference: int, result: int) -> None:
        self._put(result, self._references[reference - 1])

    def _napi_delete_reference(self, *_: int) -> None: ...

    def _napi_throw(self, _env: int, error: int) -> None:
        self._thrown = self._values[error]

    def _napi_throw_error(self, _env: int, _code: int, message: int) -> None:
        self._thrown = self._text(message)

    def _napi_is_exception_pending(self, _env: int, result: int) -> None:
        self._write_flag(result, self._thrown is not None)

    # -- WASI: no time, no environment, no chance ----------------------------------------------

    def _random_get(self, address: int, length: int) -> None:
        self._memory.write(self._store, bytes(length), address & 0xFFFFFFFF)

    def _environ_sizes_get(self, count: int, size: int) -> None:
        self._write_word(count, 0)
        self._write_word(size, 0)

    def _environ_get(self, *_: int) -> None: ...

    def _clock_time_get(self, _clock: int, _precision: int, result: int) -> None:
        self._memory.write(self._store, bytes(8), result & 0xFFFFFFFF)

    def _fd_write(self, _file: int, vectors: int, count: int, written: int) -> None:
        # What a panic prints before it stops the instance; its trap is what the caller sees.
        lengths = [self._word(vectors + 8 * index + 4) for index in range(count)]
        self._write_word(written, sum(lengths))

    def _proc_exit(self, code: int) -> None:
        raise AddOnError(f"the parser ended with {code}")


def _type_of(value: Any) -> int:
    if isinstance(value, _Undefined):
        return _UNDEFINED
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, int):
        return _NUMBER
    if isinstance(value, str):
        return _STRING
    return _FUNCTION if isinstance(value, _Function) else _OBJECT
