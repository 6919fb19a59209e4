"""Which proxy the environment names, by Go's rules; the end-to-end tests ask Go itself."""

from __future__ import annotations

import pytest
from yarl import URL

from extender.core.errors import ConfigError
from extender.core.kube.client import ApiClient
from extender.core.kube.proxies import proxy_for
from tests.kube.rig import credentials_for

PROXY = "http://proxy.test:3128"


@pytest.mark.parametrize(
    ("excepted", "url", "direct"),
    [
        ("10.0.0.0/8", "https://10.96.0.1", True),
        ("10.0.0.0/8", "https://11.0.0.1", False),
        ("10.0.0.0/255.0.0.0", "https://10.96.0.1", False),
        ("10.96.0.1", "https://10.96.0.1", True),
        ("10.96.0.1:443", "https://10.96.0.1", True),
        ("10.96.0.1:6443", "https://10.96.0.1", False),
        ("::ffff:10.96.0.1", "https://10.96.0.1", True),
        ("fd00::/8", "https://[fd00::1]:6443", True),
        ("[fd00::1]:6443", "https://[fd00::1]:6443", True),
        ("[fd00::1]:443", "https://[fd00::1]:6443", False),
        ("fd00::1", "https://[fd00::1]:6443", True),
        ("api.test", "https://api.test", True),
        ("api.test:443", "https://api.test", True),
        ("api.test:6443", "https://api.test", False),
        ("test", "https://api.test", True),
        (".test", "https://api.test", True),
        ("*.test", "https://api.test", True),
        (".api.test", "https://api.test", False),
        ("pi.test", "https://api.test", False),
        ("API.Test", "https://api.test", True),
        ("x, 10.0.0.0/8 ,y", "https://10.0.0.1", True),
        ("x,*", "https://api.test", True),
        (":443", "https://api.test", False),
        ("", "https://127.0.0.9:6443", True),
        ("", "https://[::1]:6443", True),
        ("", "https://localhost:6443", True),
        ("", "https://api.test", False),
    ],
)
def test_what_goes_past_the_proxy(excepted: str, url: str, *, direct: bool) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        found = proxy_for(URL(url), {"HTTPS_PROXY": PROXY, name: excepted})
        assert found == (None if direct else PROXY)


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({"HTTPS_PROXY": "http://upper", "https_proxy": "http://lower"}, "http://upper"),
        ({"HTTPS_PROXY": "", "https_proxy": "http://lower"}, "http://lower"),
        ({"HTTPS_PROXY": "proxy.test:3128"}, PROXY),
        ({"HTTP_PROXY": PROXY}, None),
        ({"ALL_PROXY": PROXY}, None),
        ({"NO_PROXY": "", "no_proxy": "api.test", "HTTPS_PROXY": PROXY}, None),
    ],
)
def test_which_variable_names_the_proxy(environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(URL("https://api.test"), environ) == proxy


@pytest.mark.parametrize(("value", "said"), [("socks5://p:1", "'socks5'"), ("http://", "no host")])
def test_a_proxy_that_is_not_spoken_to_is_refused(
    value: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=rf"^HTTPS_PROXY: .*{said}"):
        proxy_for(URL("https://api.test"), {"HTTPS_PROXY": value})
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigError):
        ApiClient(credentials_for("https://api.test"))
    ApiClient(credentials_for("https://api.test", proxy=PROXY))
