"""The errors a user of the runtime meets, in one place; nothing inside imports this module.

::

    RuntimeFault     a refusal with a code of the contract, a sentence and details
    BundleError      an agent repository that cannot be used, with all its problems
"""

from runtime_core.repo.bundle import BundleError, Problem
from runtime_core.wire.codes import COMPOSITE_CODES, RuntimeFault

__all__ = ["COMPOSITE_CODES", "BundleError", "Problem", "RuntimeFault"]
