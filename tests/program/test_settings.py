"""A trace carries its settings in its thread."""

import threading

from mozzi.program.settings import Settings, settings, tracing


def test_another_thread_does_not_see_them():
    seen: list[Settings] = []
    with tracing(Settings(rolled=True, dtype="float32")):
        thread = threading.Thread(target=lambda: seen.append(settings()))
        thread.start()
        thread.join()
        assert settings() == Settings(rolled=True, dtype="float32")
    assert seen == [Settings()]
    assert settings() == Settings()


def test_they_end_with_an_error():
    try:
        with tracing(Settings(rolled=True)):
            raise ValueError
    except ValueError:
        pass
    assert settings() == Settings()
