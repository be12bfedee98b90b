"""Questions to people: what a handler asked, who may answer, and what an answer means."""
