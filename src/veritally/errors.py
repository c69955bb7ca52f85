"""What goes wrong with input, in words its author can act on."""


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence that says what is wrong and what would be right."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.splitlines()))  # a name in it may have line breaks


class TieError(InputError):
    """A single winner was asked for where several tie."""


class InputWarning(UserWarning):
    """Input that can be used, though something about it deserves a look."""
