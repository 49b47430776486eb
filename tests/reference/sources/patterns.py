"""Shell-style patterns by recursion over their characters."""


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern of ``*``, ``?``, escapes and ordinary characters matches the whole name."""
    if not pattern:
        return not name
    if pattern[0] == "*":
        return matches(pattern[1:], name) or (bool(name) and matches(pattern, name[1:]))
    if pattern[0] == "?":
        return bool(name) and matches(pattern[1:], name[1:])
    if pattern[0] == "\\" and pattern[1:2] in tuple("*?@\\"):
        pattern = pattern[1:]
    return name[:1] == pattern[0] and matches(pattern[1:], name[1:])
