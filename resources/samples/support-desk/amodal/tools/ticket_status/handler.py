async def handler(params, ctx):
    ticket = await ctx.call_tool("load_ticket", {"ticket_id": params["ticket_id"]})
    return {
        "state": ticket["state"],
        "message": f"{params['ticket_id']} of {ticket['customer']} is {ticket['state']} since {ticket['opened']}.",
    }
