import json


async def handler(params, ctx):
    policy = json.loads(params["policy"])
    if not isinstance(policy.get("allowed"), bool):
        raise ValueError("The policy reviewer has to say whether it is allowed.")
    return {"ticket_id": params["ticket_id"], "tone": params["tone"], "policy": policy}
