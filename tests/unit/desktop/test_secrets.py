"""Secrets of the person at the desktop: environment, then keychain, never a wait without an end (cases H01, H02)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator

import keyring
import keyring.backends.fail
import pytest
from keyring.backend import KeyringBackend

from inbox_app.desktop import secrets
from inbox_app.desktop.secrets import Keychain, KeychainUnavailable
from tests.support.keychains import DismissedKeychain, ForgetfulKeychain, LockedKeychain, MemoryKeychain

NAME = "SUPPORT_TOKEN"
Use = Callable[[KeyringBackend], None]


@pytest.fixture
def use() -> Generator[Use]:
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


@pytest.fixture
def memory(use: Use, monkeypatch: pytest.MonkeyPatch) -> MemoryKeychain:
    monkeypatch.delenv(NAME, raising=False)
    backend = MemoryKeychain()
    use(backend)
    return backend


def test_what_is_stored_is_found_listed_and_removed(memory: MemoryKeychain) -> None:
    Keychain().set(NAME, "ä s3cret\nof two lines")
    Keychain().set("acme/eu/SUPPORT_TOKEN", "of acme")
    chain = Keychain()
    assert chain.get(NAME) == "ä s3cret\nof two lines"
    assert chain.get("acme/eu/SUPPORT_TOKEN") == "of acme"
    assert list(chain.names()) == [NAME, "acme/eu/SUPPORT_TOKEN"]
    assert chain.remove(NAME)
    assert not chain.remove(NAME)
    assert chain.get(NAME) is None
    assert list(Keychain().names()) == ["acme/eu/SUPPORT_TOKEN"]


def test_the_environment_goes_first_and_the_keychain_is_not_even_asked(
    memory: MemoryKeychain, monkeypatch: pytest.MonkeyPatch
) -> None:
    Keychain().set(NAME, "stored")
    asked = memory.asked
    monkeypatch.setenv(NAME, "of the environment")
    assert Keychain().get(NAME) == "of the environment"
    assert memory.asked == asked
    monkeypatch.setenv(NAME, "")
    assert Keychain().get(NAME) == "stored"


def test_a_value_that_was_replaced_is_not_the_old_one(memory: MemoryKeychain) -> None:
    chain = Keychain()
    chain.set(NAME, "old")
    assert chain.get(NAME) == "old"
    chain.set(NAME, "new")
    assert chain.get(NAME) == "new"


@pytest.mark.parametrize("name", ["", "A B", "1A", "a\nb", "/A", "A=b", "A:b"])
def test_names_that_no_repository_could_use_are_refused(memory: MemoryKeychain, name: str) -> None:
    with pytest.raises(ValueError, match="is no name of a secret"):
        Keychain().set(name, "x")
    assert memory.entries == {}


def test_an_index_that_is_damaged_hides_no_secret(memory: MemoryKeychain) -> None:
    Keychain().set(NAME, "stored")
    index = next(key for key in memory.entries if "names" in key[1])
    memory.entries[index] = "{broken"
    assert Keychain().get(NAME) == "stored"
    Keychain().set("OTHER", "x")
    assert list(Keychain().names()) == ["OTHER"]


def test_without_a_keychain_nothing_is_found_and_nothing_kept(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    use(keyring.backends.fail.Keyring())
    assert Keychain().get(NAME) is None
    for ask in (lambda: Keychain().set(NAME, "s3cret"), Keychain().names, lambda: Keychain().remove(NAME)):
        with pytest.raises(KeychainUnavailable, match=r"There is no keychain on this computer.*environment variables"):
            ask()


def test_a_keychain_that_forgets_is_found_out(use: Use) -> None:
    use(ForgetfulKeychain())
    with pytest.raises(KeychainUnavailable, match="keeps nothing"):
        Keychain().set(NAME, "s3cret")


def test_a_keychain_that_refuses_is_named_without_the_secret(use: Use, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    use(DismissedKeychain())
    chain = Keychain()
    assert (chain.get(NAME), "Failed to unlock" in str(chain.trouble())) == (None, True)
    with pytest.raises(KeychainUnavailable, match="Prompt dismissed") as caught:
        Keychain().set(NAME, "s3cret")
    assert "s3cret" not in str(caught.value)


def test_a_keychain_that_refused_does_not_ask_for_its_password_at_every_use(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    backend = DismissedKeychain()
    use(backend)
    chain = Keychain()
    assert [chain.get(name) for name in (NAME, "OTHER", NAME)] == [None] * 3
    assert backend.asked == 1


def test_a_name_without_a_value_is_asked_for_once_a_minute(
    memory: MemoryKeychain, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = Keychain()
    assert [chain.get(NAME) for _ in range(5)] == [None] * 5
    assert memory.asked == 1
    memory.entries["operator-inbox", NAME] = "of another process"
    monkeypatch.setattr(secrets, "_KEPT_S", 0.0)
    assert chain.get(NAME) == "of another process"


def test_a_keychain_that_hangs_costs_its_limit_once_and_works_again_when_it_answers(
    use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    locked = LockedKeychain()
    use(locked)
    chain = Keychain(limit_s=0.1)
    try:
        assert chain.get(NAME) is None
        hanging = [thread for thread in threading.enumerate() if thread.name == "keychain"]
        for _ in range(50):
            assert chain.get(NAME) is None
        assert "did not answer within 0.1 s. Unlock it" in str(chain.trouble())
        assert [thread for thread in threading.enumerate() if thread.name == "keychain"] == hanging
        with pytest.raises(KeychainUnavailable, match=r"within 0\.1 s\. Unlock it"):
            chain.names()
    finally:
        locked.unlocked.set()
    for thread in hanging:
        thread.join()
    locked.entries["operator-inbox", NAME] = "there after all"
    assert (chain.get(NAME), chain.trouble()) == ("there after all", None)


def test_a_keychain_may_be_asked_from_many_threads(memory: MemoryKeychain) -> None:
    chain, found = Keychain(), list[str | None]()
    chain.set(NAME, "stored")
    threads = [threading.Thread(target=lambda: found.append(chain.get(NAME))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["stored"] * 8
