"""The rows: stored facts without behaviour."""

from ledger.models.audit import Record
from ledger.models.delivery import Resumption
from ledger.models.effects import Contract, Effect, EffectRef, OpenEffect
from ledger.models.evidence import Entry, Lookup, Payload
from ledger.models.resolutions import (
    Application,
    Escalation,
    Policy,
    PolicyAutoSettle,
    PolicyTier,
    Resolution,
)
from ledger.models.tenancy import PERMISSIONS, Account, Person, Tenant, TenantGrant

__all__ = [
    "PERMISSIONS",
    "Account",
    "Application",
    "Contract",
    "Effect",
    "EffectRef",
    "Entry",
    "Escalation",
    "Lookup",
    "OpenEffect",
    "Payload",
    "Person",
    "Policy",
    "PolicyAutoSettle",
    "PolicyTier",
    "Record",
    "Resolution",
    "Resumption",
    "Tenant",
    "TenantGrant",
]
