from ..._lib.answers import is_yes
from ..._lib.money import show


async def handler(params, ctx):
    case_id = params["case_id"]
    case = await ctx.call_tool("collect_case", params)
    approval = await approved_refund(ctx, case_id, case["refund"])
    if not approval["approved"]:
        return {"case_id": case_id, "refunded": False, "note": approval.get("note")}

    refund = approval["refund"]
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


async def approved_refund(ctx, case_id, refund):
    """Ask until the payment is refused, or one is approved that can be paid as it was edited."""
    problems = await problems_of(ctx, case_id, refund)
    if problems:
        raise ValueError(" ".join(problems))
    question = f"Refund {show(refund['amount'], refund['currency'])} to customer {refund['customer']}?"
    prompt = question
    while True:
        approval = await ctx.wait_for_approval({"prompt": prompt, "context": refund, "allow_edits": True})
        if not approval["approved"]:
            return approval
        edited = approval.get("edits", refund)
        problems = await problems_of(ctx, case_id, edited)
        if not problems:
            return {**approval, "refund": edited}
        prompt = f"{' '.join(problems)} {question}"


async def problems_of(ctx, case_id, refund):
    checked = await ctx.call_tool("check_refund", {"case_id": case_id, "refund": refund})
    return checked["problems"] if checked is not None else ["Nobody could check this refund."]
