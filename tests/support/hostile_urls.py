"""Addresses that lead a careless fetcher home: this machine, its neighbours, or a cloud's own services."""

from __future__ import annotations

HOME = (
    *("127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0177.0.0.1", "0x7f.0.0.1", "0x7f.1", "2130706433"),
    *("0x7f000001", "017700000001", "localhost", "LOCALHOST", "localhost.", "me.localhost", "0", "0.0.0.0"),  # noqa: S104 - nothing listens here
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:7f00:1]"),
    *("[::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[::1%25lo]"),
)
NEIGHBOURS = (
    *("10.0.0.1", "172.16.0.1", "172.31.255.254", "192.168.0.1", "192.168.1.254", "100.64.0.1", "198.18.0.1"),
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2", "100.100.100.200"),
    *(
        "[fd00:ec2::254]",
        "[fe80::a9fe:a9fe]",
        "[fec0::1]",
        "[fc00::1]",
        "[::ffff:169.254.169.254]",
        "[::ffff:10.0.0.1]",
    ),
    *("[2002:a9fe:a9fe::]", "[2002:c0a8:1::]", "[64:ff9b::a9fe:a9fe]", "[ff02::1]", "224.0.0.1", "255.255.255.255"),
    *("240.0.0.1", "192.0.2.1", "203.0.113.9", "[2001:db8::1]", "[100::1]"),
)
BY_NAME = {
    "home.test": ("127.0.0.1",),
    "home6.test": ("::1",),
    "mapped.test": ("::ffff:127.0.0.1",),
    "cloud.test": ("169.254.169.254",),
    "lan.test": ("192.168.0.1",),
    "both.test": ("8.8.8.8", "127.0.0.1"),
    "both6.test": ("2606:4700::1111", "::1"),
    "nat64.test": ("64:ff9b::7f00:1",),
    "localhost": ("127.0.0.1", "::1"),
    "localhost.": ("127.0.0.1",),
    "me.localhost": ("127.0.0.1",),
}
"""What a resolver in an attacker's hands answers."""
NEVER = (
    *("file:///etc/passwd", "ftp://127.0.0.1:{port}/x", "gopher://127.0.0.1:{port}/_x", "dict://127.0.0.1:{port}/d"),
    *("data:,x", "jar:http://127.0.0.1:{port}!/x", "ldap://127.0.0.1:{port}/x", "unix:///var/run/docker.sock"),
    *(
        "https:127.0.0.1:{port}/x",
        "https:///127.0.0.1:{port}/x",
        "https://",
        "https:///x",
        "",
        "x",
        "//127.0.0.1:{port}/",
    ),
    *("https://127.0.0.1:99999/x", "https://127.0.0.1:-1/x", "https://127.0.0.1:{port}x/x", "https://[::1:{port}/x"),
    *(
        "https://[::1]x:{port}/x",
        "https://[127.0.0.1]:{port}/x",
        "https://127.0.0.1:{port}/\r\nHost: x/",
        "https://a b/x",
    ),
    *("https://127.0.0.1\r\n:{port}/x", "https://127.0.0.1%0d%0a:{port}/x", "https://127.0.0.1%00.test:{port}/x"),
    *(
        "https://8.8.8.8@127.0.0.1:{port}/x",
        "https://8.8.8.8:443@127.0.0.1:{port}/x",
        "https://me:w@home.test:{port}/x",
    ),
    *(
        "https://8.8.8.8#@127.0.0.1:{port}/x",
        "https://8.8.8.8?@127.0.0.1:{port}/x",
        "https://8.8.8.8\\@127.0.0.1:{port}/x",
    ),
    *(
        "https://①②⑦.⓪.⓪.①:{port}/x",
        "https://１２７.0.0.1:{port}/x",
        "https://127。0。0。1:{port}/x",
        "https://ⓛocalhost:{port}/x",
    ),
    *(
        "https://127.0.0.1\t:{port}/x",
        "\thttps://127.0.0.1:{port}/x",
        "https://127.0.0.1:{port}/\x00",
        "https://.:{port}/",
    ),
    *("https://%31%32%37.0.0.1:{port}/x", "https://..:{port}/", "https://-:{port}/", "https://[v1.x]:{port}/"),
)


def hostile_urls(port: int) -> list[str]:
    """Every address, with the port that a listener waits at."""
    hosts = [*HOME, *NEIGHBOURS, *(name for name in BY_NAME if name.endswith(".test"))]
    by_host = [f"{scheme}://{host}:{port}/x" for host in hosts for scheme in ("https", "HTTPS")]
    by_host += [f"https://{host}/x" for host in NEIGHBOURS]
    return [*by_host, *(url.replace("{port}", str(port)) for url in NEVER)]


def hostile_redirects(port: int) -> list[str]:
    """The same, and plain http to this machine, which only a caller may ask for."""
    return [*hostile_urls(port), *(f"http://{host}:{port}/x" for host in (*HOME, *NEIGHBOURS))]
