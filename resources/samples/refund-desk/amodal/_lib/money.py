"""Amounts of money: compared and shown as decimals, handed on as they were given."""

from decimal import Decimal, InvalidOperation

_SIGNS = {"EUR": "€", "GBP": "£", "USD": "$"}


def cents(value):
    """A number as an amount with two places, or None if it is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        amount = Decimal(str(value))
        return amount.quantize(Decimal("0.01")) if amount == round(amount, 2) else None
    except (InvalidOperation, ValueError):
        return None


def show(amount, currency):
    return f"{_SIGNS.get(currency, currency + ' ')}{cents(amount):,.2f}"
