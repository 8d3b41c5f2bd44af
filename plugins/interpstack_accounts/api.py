"""Names of this plugin that hosts and other plugins may import."""

from __future__ import annotations

from interpstack_accounts.accounts import Account, Reservation
from interpstack_accounts.budgets import AmountLimits, Budget, BudgetExceeded
from interpstack_accounts.recorders import record_drawn, record_drawn_soon
from interpstack_accounts.records import Spent, read_spent

__all__ = [
    "Account",
    "AmountLimits",
    "Budget",
    "BudgetExceeded",
    "Reservation",
    "Spent",
    "read_spent",
    "record_drawn",
    "record_drawn_soon",
]
