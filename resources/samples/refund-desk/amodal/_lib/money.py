"""Amounts of money: kept as decimals, so that 120.00 stays 120.00."""

from decimal import Decimal, InvalidOperation

_SIGNS = {"EUR": "€", "GBP": "£", "USD": "$"}


def cents(value):
    """A number or text as an amount with two places, or None if it is not one."""
    if isinstance(value, bool):
        return None
    try:
        amount = Decimal(str(value))
        return amount.quantize(Decimal("0.01")) if amount == round(amount, 2) else None
    except (InvalidOperation, ValueError):
        return None


def show(amount, currency):
    return f"{_SIGNS.get(currency, currency + ' ')}{cents(amount):,.2f}"
