"""Accounts: budgets that many cells share.

A cell that runs inside `Account.use` gets a guard, which draws on that account. The names that
hosts and other plugins use are in `interpstack_accounts.api`.
"""

from __future__ import annotations

from interpstack import CellGuard, hookimpl
from interpstack_accounts.accounts import Account
from interpstack_accounts.guard import AccountGuard


@hookimpl
def interpstack_open_cell() -> CellGuard | None:
    account = Account.current()
    return None if account is None else AccountGuard(account)
