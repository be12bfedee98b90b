from ..._lib.answers import is_yes


async def handler(params, ctx):
    case = await ctx.call_tool("collect_case", {"case_id": params["case_id"]})
    answer = await ctx.request_input(
        {
            "question": f"Close case {params['case_id']} of customer {case['refund']['customer']} without a refund?",
            "input_type": "yesno",
            "context": {"note": case["refund"]["note"], "rating": case["policy"]["rating"]["rating"]},
        }
    )
    if not is_yes(answer["value"]):
        return {"case_id": params["case_id"], "closed": False, "note": answer.get("note")}
    await ctx.call_tool("archive_case", {"case_id": params["case_id"]})
    return {"case_id": params["case_id"], "closed": True}
