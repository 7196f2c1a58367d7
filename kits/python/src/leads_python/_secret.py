"""Bytes that hold a key or a lead, and that nothing shows."""

from __future__ import annotations

from typing import NoReturn, Union


class Secret:
    """Bytes that no string form, debugger's view or pickle shows.

    Reporters of errors show the local variables of every frame by their ``repr``. So that they find nothing, keys and
    leads are handled as this object and, where bytes are needed, as a ``memoryview`` of it.
    """

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        self._value = value

    def view(self) -> memoryview:
        return memoryview(self._value)

    @classmethod
    def joined(cls, *parts: Union[bytes, Secret]) -> Secret:
        return cls(b"".join(part._value if isinstance(part, Secret) else part for part in parts))

    def __len__(self) -> int:
        return len(self._value)

    def __repr__(self) -> str:
        return "<secret>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("A secret cannot be copied or pickled")
