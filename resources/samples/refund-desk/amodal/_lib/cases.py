"""The cases, orders and customers of the sample; a real desk would ask its own systems."""

CASES = {
    "rf-2094": {"order_id": 3544790567247868102, "amount": 120.00, "note": "Parcel came back unopened"},
    "rf-2031": {"order_id": 3544790567247868044, "amount": 18.40, "note": "Wrong size, exchanged in store"},
}

ORDERS = {
    3544790567247868102: {"customer": "C-88", "total": 164.90, "currency": "EUR", "paid_by": "card"},
    3544790567247868044: {"customer": "C-1204", "total": 18.40, "currency": "EUR", "paid_by": "card"},
    3544790567247867990: {"customer": "C-511", "total": 64.00, "currency": "EUR", "paid_by": "card"},
}

CUSTOMERS = {
    "C-88": {"name": "Ines Duarte", "mail": "ines@customer.example", "since": 2019, "refunds_this_year": 1},
    "C-511": {"name": "Tom Weaver", "mail": "tom@customer.example", "since": 2024, "refunds_this_year": 4},
    "C-1204": {"name": "Lena Vogt", "mail": "lena@customer.example", "since": 2022, "refunds_this_year": 0},
}

DISPUTES = {
    "dp-317": {
        "order_id": 3544790567247867990,
        "bank_says": "Card holder did not take part in the transaction",
        "delivered": "signed for on 14 September by T. Weaver",
        "reply_until": "2026-12-04",
    },
}


def find(kind, table, key):
    """The entry of a table, or an error that names what is there."""
    if key not in table:
        raise ValueError(f"There is no {kind} {key!r}. Known: {', '.join(map(str, table))}.")
    return table[key]
