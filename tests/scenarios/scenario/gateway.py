"""The configuration a case runs under: usual values, and what the case changes of them."""

from .values import MODEL

# Probes off and fast retries: a case that is about them says so.
_DEFAULTS = {
    "server": {"host": "127.0.0.1", "loops": 1},
    "log": {"level": "info", "format": "text", "access": False},
    "health": {"enabled": False},
    "retry": {"base_backoff_ms": 5, "max_backoff_ms": 20},
}


def configuration(changes: dict, ports: dict[str, int], admin_port: int) -> str:
    """TOML for one route to every replica. `changes` is the case's [gateway] table: tables of the
    configuration, `route`, `target` and `provider`, which apply to each of theirs, and `replicas`,
    the names of those that are configured (all)."""
    changes = dict(changes)
    ports = {name: ports[name] for name in changes.pop("replicas", ports)}
    route = changes.pop("route", {})
    target = changes.pop("target", {})
    provider = changes.pop("provider", {})
    tables = {name: dict(table) for name, table in _DEFAULTS.items()}
    tables["admin"] = {"port": admin_port}
    lines = []
    for name, table in changes.items():
        if isinstance(table, list):
            for element in table:
                lines += _table(f"[[{name}]]", element)
        else:
            tables[name] = {**tables.get(name, {}), **table}
    for name, table in tables.items():
        lines += _table(f"[{name}]", table)
    for name, port in ports.items():
        address = {"name": name, "api_base": f"http://127.0.0.1:{port}"}
        lines += _table("[[providers]]", {**address, **provider})
    lines += _table("[[routes]]", {"model": MODEL, **route})
    for name in ports:
        lines += _table("[[routes.targets]]", {"provider": name, "model": MODEL, **target})
    return "\n".join(lines) + "\n"


def _table(head: str, values: dict) -> list[str]:
    return ["", head, *(f"{key} = {_value(value)}" for key, value in values.items())]


def _value(value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return "{" + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + "}"
