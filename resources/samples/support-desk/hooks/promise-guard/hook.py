def create_hook(config):
    return Guard(config["tool"], config["words"])


class Guard:
    def __init__(self, tool, words):
        self.tool = tool
        self.words = words

    def run(self, point, payload, ctx):
        if payload["toolName"] != self.tool:
            return {"action": "allow"}
        text = payload["args"].get("text", "").lower()
        found = [word for word in self.words if word in text]
        if found:
            return {"action": "block", "reason": f"a reply may not promise a {found[0]}"}
        return {"action": "allow"}
