"""The tickets of the sample; a real desk would ask its own system."""

TICKETS = {
    "t-1042": {
        "customer": "Ines Duarte",
        "account": "C-88",
        "subject": "Kettle arrived with a cracked lid",
        "text": "This is the second one! I would like a new kettle, not another voucher.",
        "order": "ord-7731",
        "opened": "2026-11-28",
        "state": "open",
    },
    "t-1049": {
        "customer": "Tom Weaver",
        "account": "C-511",
        "subject": "Please close my account",
        "text": "I do not shop here any more. Close my account and delete what you know of me.",
        "order": None,
        "opened": "2026-11-30",
        "state": "open",
    },
}


def find(ticket_id):
    """The ticket, or an error that names those there are."""
    if ticket_id not in TICKETS:
        raise ValueError(f"There is no ticket {ticket_id!r}. Known: {', '.join(TICKETS)}.")
    return {"ticket_id": ticket_id, **TICKETS[ticket_id]}
