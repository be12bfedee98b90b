async def handle(ctx):
    return {"account": ctx.input["account"], "closed": True}


tool = {
    "id": "close_account",
    "exposure": {"kind": "requires-confirmation", "prompt": "Close this account for good?"},
    "base": {
        "name": "close_account",
        "description": "Close the account of a customer. A person is asked first.",
        "parametersJsonSchema": {
            "type": "object",
            "properties": {"account": {"type": "string"}},
            "required": ["account"],
            "additionalProperties": False,
        },
    },
    "handle": handle,
}
