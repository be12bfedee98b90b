from ..._lib.money import cents

PERSON_ABOVE = cents(100)


async def handler(params, ctx):
    rating = await ctx.call_tool("rate_customer", {"customer": params["customer"]})
    if rating is None:
        raise ValueError(f"Nobody has rated the customer {params['customer']!r}.")
    amount = cents(params["amount"])
    if amount is None or amount > PERSON_ABOVE:
        return {"rule": "refunds-2", "because": "Every refund above €100.00 is sent to a person.", "rating": rating}
    return {"rule": "refunds-1", "because": "Refunds up to €100.00 need one approval.", "rating": rating}
