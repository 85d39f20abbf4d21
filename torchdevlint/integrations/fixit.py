"""Rules for Fixit, one for each of ours: ``enable = ["torchdevlint.integrations.fixit"]`` under ``[tool.fixit]``.

They are named by their codes, so ``# lint-fixme: TDL201`` and ``disable = ["torchdevlint.integrations.fixit:TDL201"]``
hold. Which of them report, and in which files, is decided by the settings of torchdevlint; a file is looked at once.

A fix becomes Fixit's where it is one that ``torchdevlint check --fix`` would apply and changes one simple statement,
since Fixit replaces one node. What edits several statements is left to that command.
"""

from __future__ import annotations

import libcst as cst
from fixit import LintRule
from libcst.metadata import PositionProvider

from torchdevlint import rules
from torchdevlint.config import Settings
from torchdevlint.discover import excluded
from torchdevlint.fix.choice import is_applicable
from torchdevlint.fix.splice import splice
from torchdevlint.libcst import findings, origin, replacing
from torchdevlint.model import Diagnostic

# Fixit takes every class for a rule that it finds in this module: those of other modules are not named here.


def _rule(code: str, name: str) -> type[LintRule]:
    class Rule(LintRule):  # type: ignore[misc, unused-ignore]
        METADATA_DEPENDENCIES = (PositionProvider, findings.FindingProvider, origin.OriginProvider)

        def visit_Module(self, node: cst.Module) -> None:  # noqa: N802 (libcst's name)
            found = self.get_metadata(findings.FindingProvider, node)
            own = [each for each in found if each.diagnostic.code == code]
            if not own:
                return
            file = self.get_metadata(origin.OriginProvider, node)
            settings = file.resolved()
            if file.filename is not None and excluded(file.filename, settings):
                return
            for each in own:
                place = each.node or node
                if self.ignore_lint(place):
                    continue
                replaced, by = _replacement(node, each.diagnostic, settings) or (place, None)
                position = findings.range_of(each.diagnostic.span)
                self.report(replaced, each.diagnostic.message, position=position, replacement=by)

    Rule.__name__ = Rule.__qualname__ = code
    Rule.__module__, Rule.__doc__ = __name__, name
    return Rule


def _replacement(
    module: cst.Module, diagnostic: Diagnostic, settings: Settings
) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """The node that a fix replaces, and by what; None if there is no fix to apply, or it changes more than one."""
    if diagnostic.fix is None or not is_applicable(diagnostic, settings):
        return None
    fixed, _ = splice(module.code, (diagnostic.fix,))
    return replacing.replacement(module, cst.parse_module(fixed, config=module.config_for_parsing))


globals().update({rule.code: _rule(rule.code, rule.name) for rule in rules.identities()})
