"""Tools that no repository writes: store tools, tools of connections, the web, knowledge, memory, chat controls."""
