"""Knowledge, skills, automations, evals, and everything beside them that is ignored (contract 1.1, 1.5, 11)."""

from __future__ import annotations

import pytest

from runtime_core.repo.loader import load_bundle
from tests.unit.repo.building import Repository


def test_knowledge_goes_by_its_file_name_and_is_shown_by_its_heading(repository: Repository) -> None:
    repository.write("amodal/knowledge/access-policy.md", "intro\n\n## Who may enter ##\n\n# Later\n")
    repository.write("knowledge/access-policy.md", "# Older\n")
    repository.write("knowledge/tone.md", "Be kind.\n")
    bundle = load_bundle(repository.root)
    found = {name: (one.title, one.file) for name, one in bundle.knowledge.items()}
    assert found == {
        "access-policy": ("Who may enter", "amodal/knowledge/access-policy.md"),
        "tone": ("tone", "knowledge/tone.md"),
    }
    assert [problem.file for problem in bundle.problems] == ["knowledge/access-policy.md"]


@pytest.mark.parametrize(
    ("text", "description", "trigger"),
    [
        ("# Skill: Triage\nTrigger: a new ticket\n\nSort it\nby kind.\n\nMore.\n", "Sort it by kind.", "a new ticket"),
        ("---\nname: triage\ndescription: Sorts.\ntrigger: a ticket\n---\n# Steps\n", "Sorts.", "a ticket"),
        ("# Skill: Triage\n", "Triage", None),
    ],
)
def test_skills(repository: Repository, text: str, description: str, trigger: str | None) -> None:
    repository.write("skills/triage/SKILL.md", text)
    skill = load_bundle(repository.root).skills["triage"]
    assert (skill.description, skill.trigger, skill.file) == (description, trigger, "skills/triage/SKILL.md")


def test_texts_that_cannot_be_read_are_left_out_with_a_warning(repository: Repository) -> None:
    repository.write("knowledge/broken.md", b"\xff")
    repository.write("skills/empty/notes.txt", "x")
    repository.write("skills/odd/SKILL.md", "---\nname: x\nno colon here\n---\n")
    repository.write("automations/odd.json", "{")
    repository.write("evals/odd.md", b"\xff")
    bundle = load_bundle(repository.root)
    assert (bundle.knowledge, bundle.skills, bundle.automations, bundle.evals) == ({}, {}, {}, {})
    assert {problem.severity for problem in bundle.problems} == {"warning"}
    assert {problem.file for problem in bundle.problems} == {
        "knowledge/broken.md",
        "skills/empty/SKILL.md",
        "skills/odd/SKILL.md",
        "automations/odd.json",
        "evals/odd.md",
    }


def test_automations_and_evals_are_listed(repository: Repository) -> None:
    repository.agent("default")
    repository.write("automations/morning.json", {"title": "Morning", "prompt": "Look.", "schedule": "0 7 * * *"})
    repository.write(
        "automations/weekly.md", "# Automation: Weekly\nSchedule: 0 7 * * 1\n\n## Check\nLook.\n\n## More\nx\n"
    )
    repository.write("evals/late.md", "# Eval: Late parcels\n\n## Query\nx\n\n## Assertions\n- contains: p_77\n")
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    assert bundle.automations["morning"].settings["schedule"] == "0 7 * * *"
    assert bundle.automations["weekly"].settings == {"title": "Weekly", "schedule": "0 7 * * 1", "prompt": "Look."}
    assert bundle.evals["late"].title == "Late parcels"


def test_what_is_no_item_is_ignored_and_said(repository: Repository) -> None:
    repository.tool("ship")
    for file in (
        *("amodal/_lib/x.ts", "amodal/_types/x.ts", "amodal/tools/ship/helper.ts", "amodal/stores/parcels.txt"),
        *("amodal/tools/ship/handler.test.ts", "amodal/tools/_shared/x.ts", "amodal/tools/ship/setup.sh"),
        *("tools/README.md", "intents/late/intent.ts", "amodal/intents/late/intent.ts", "pages/index.json"),
        *("src/main.tsx", "index.html", ".git/HEAD", "hooks/.old/hook.json", "agents/notes.md", "evals/x.txt"),
    ):
        repository.write(file, "x")
    bundle = load_bundle(repository.root)
    assert bundle.problems == ()
    ignored = {one.path: one.reason for one in bundle.ignored}
    assert set(ignored) == {
        *("agents/notes.md", "amodal/intents/", "amodal/stores/parcels.txt", "amodal/tools/_shared/"),
        *("amodal/tools/ship/handler.test.ts", "amodal/tools/ship/setup.sh", "evals/x.txt", "hooks/.old/"),
        *("index.html", "intents/", "pages/", "src/", "tools/README.md"),
    }
    assert "regex trigger" in ignored["intents/"]
    assert ignored["amodal/tools/ship/handler.test.ts"] == "it is a test"
    assert ignored["amodal/tools/_shared/"] == "its name starts with _"


def test_what_the_repository_names_is_not_ignored(repository: Repository) -> None:
    models = {"main": {"provider": "scripted", "model": "./script.json"}, "simple": {"provider": "x", "model": "m"}}
    servers = {"desk": {"command": "python", "args": ["bin/server.py", "--quiet"]}}
    repository.write("amodal.json", {"name": "x", "version": "1", "models": models, "mcp": {"servers": servers}})
    repository.connection("crm", openapi={"source": "../../specs/crm.json"})
    for file in ("script.json", "bin/server.py", "specs/crm.json", "other/x.json"):
        repository.write(file, "{}")
    assert [one.path for one in load_bundle(repository.root).ignored] == ["other/"]


def test_the_list_of_what_is_ignored_is_bounded(repository: Repository) -> None:
    for number in range(300):
        repository.write(f"page-{number}.html", "x")
    ignored = load_bundle(repository.root).ignored
    assert len(ignored) == 201
    assert ignored[-1].reason == "100 more that are not listed"


def test_an_automation_that_nobody_could_start_is_said(repository: Repository) -> None:
    repository.write("automations/morning.json", {"title": "Morning", "trigger": "crn", "prompt": 5})
    bundle = load_bundle(repository.root)
    assert [(one.severity, one.key) for one in bundle.problems] == [("warning", "trigger"), ("warning", "prompt")]
    assert "morning" in bundle.automations
