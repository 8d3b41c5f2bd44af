"""Names of this plugin that hosts and other plugins may import."""

from __future__ import annotations

from interpstack_accounts.accounts import Account
from interpstack_accounts.budgets import Budget, BudgetExceeded
from interpstack_accounts.recorders import record_drawn, record_drawn_soon

__all__ = ["Account", "Budget", "BudgetExceeded", "record_drawn", "record_drawn_soon"]
