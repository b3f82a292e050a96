"""Ids in addresses."""

from uuid import UUID

from ledger.ids import EFFECT_PREFIX, from_screen_id, screen_id


class EffectConverter:
    """`eff_` and 26 letters in the address, a UUID in the view."""

    regex = f"{EFFECT_PREFIX}[a-z2-7]{{26}}"

    def to_python(self, value: str) -> UUID:
        """The id. Raises ValueError, which is no such address, for letters that are none."""
        effect_id = from_screen_id(value)
        if effect_id is None:
            raise ValueError(value)
        return effect_id

    def to_url(self, value: UUID | str) -> str:
        """The address of an id, given as a UUID or as already shown."""
        return value if isinstance(value, str) else screen_id(value)
