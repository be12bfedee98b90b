from ..._lib.cases import CASES, ORDERS, find
from ..._lib.money import cents, show

FIXED = ("currency", "order_id", "customer")
FIELDS = {"amount", "note", "notify", *FIXED}


async def handler(params, ctx):
    case = find("case", CASES, params["case_id"])
    order = ORDERS[case["order_id"]]
    refund = params["refund"]
    if not isinstance(refund, dict):
        return {"problems": ["The payment must be an object."]}
    problems = []
    amount = cents(refund.get("amount"))
    if amount is None or amount <= 0:
        problems.append("The amount must be above zero, with at most two places.")
    elif amount > cents(order["total"]):
        problems.append(f"The amount is more than the order's {show(order['total'], order['currency'])}.")
    expected = {"currency": order["currency"], "order_id": case["order_id"], "customer": order["customer"]}
    problems += [f"{key} must stay {expected[key]}." for key in FIXED if refund.get(key) != expected[key]]
    if set(refund) != FIELDS:
        problems.append(f"The fields must be {', '.join(sorted(FIELDS))}.")
    if not isinstance(refund.get("note"), str) or not isinstance(refund.get("notify"), bool):
        problems.append("The note must be a text and notify true or false.")
    return {"problems": problems}
