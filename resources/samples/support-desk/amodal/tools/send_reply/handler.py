from ..._lib.tickets import find


async def handler(params, ctx):
    ticket = find(params["ticket_id"])
    return {"sent_to": ticket["customer"], "characters": len(params["text"])}
