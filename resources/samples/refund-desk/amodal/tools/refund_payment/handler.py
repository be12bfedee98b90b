from ..._lib.answers import is_yes
from ..._lib.money import cents, show


async def handler(params, ctx):
    case_id = params.get("case_id", "rf-2094")
    case = await ctx.call_tool("collect_case", {"case_id": case_id})
    refund = {**case["refund"], "amount": cents(case["refund"]["amount"])}

    approval = await approved_refund(ctx, case_id, case, refund)
    if not approval["approved"]:
        return {"case_id": case_id, "refunded": False, "note": approval.get("note")}
    refund = {**approval["refund"], "amount": cents(approval["refund"]["amount"])}

    paid = await ctx.call_tool("issue_refund", {"case_id": case_id, "refund": refund})
    amount = show(refund["amount"], refund["currency"])
    mail = await ctx.request_input(
        {
            "question": f"{amount} is paid. Mail customer {refund['customer']} now?",
            "input_type": "yesno",
            "context": {"to": case["customer"]["mail"], "receipt": paid["receipt"]},
        }
    )
    mailed = is_yes(mail["value"])
    if mailed:
        await ctx.call_tool("mail_customer", {"customer": refund["customer"], "receipt": paid["receipt"]})
    return {"case_id": case_id, "refunded": True, "paid": paid, "mailed": mailed}


async def approved_refund(ctx, case_id, case, refund):
    """Ask until the payment is refused, or one is approved that can be paid as it was edited."""
    problems = []
    while True:
        amount = show(refund["amount"], refund["currency"])
        again = f"{' '.join(problems)} Please correct it. " if problems else ""
        approval = await ctx.wait_for_approval(
            {
                "prompt": f"{again}Refund {amount} to customer {refund['customer']}?",
                "context": refund,
                "allow_edits": True,
            }
        )
        if not approval["approved"]:
            return approval
        edited = approval.get("edits", refund)
        checked = await ctx.call_tool("check_refund", {"case_id": case_id, "refund": edited})
        if not checked["problems"]:
            return {**approval, "refund": edited}
        problems = checked["problems"]
