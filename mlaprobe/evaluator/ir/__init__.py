"""The intermediate form that both frontends produce and the machine runs.

It is the common subset of what C++ host code and Python dispatch code do: expressions,
assignments, branches, loops, calls, failures. What a frontend cannot translate becomes
:class:`Opaque` (an expression without a known value) or :class:`OpaqueStmt` (a statement that may
write the names it lists, and may do anything else besides).

``span`` is where the text stands in the source as people see it (a token of a macro body points
into the macro's definition).
"""

from __future__ import annotations

from mlaprobe.evaluator.ir.base import NOWHERE as NOWHERE
from mlaprobe.evaluator.ir.base import CType as CType
from mlaprobe.evaluator.ir.base import Node as Node
from mlaprobe.evaluator.ir.base import Param as Param
from mlaprobe.evaluator.ir.base import Span as Span
from mlaprobe.evaluator.ir.expressions import AddressOf as AddressOf
from mlaprobe.evaluator.ir.expressions import ArrayInit as ArrayInit
from mlaprobe.evaluator.ir.expressions import AssignExpr as AssignExpr
from mlaprobe.evaluator.ir.expressions import Attr as Attr
from mlaprobe.evaluator.ir.expressions import Binary as Binary
from mlaprobe.evaluator.ir.expressions import Bool as Bool
from mlaprobe.evaluator.ir.expressions import Call as Call
from mlaprobe.evaluator.ir.expressions import Cast as Cast
from mlaprobe.evaluator.ir.expressions import Character as Character
from mlaprobe.evaluator.ir.expressions import Class as Class
from mlaprobe.evaluator.ir.expressions import Comprehension as Comprehension
from mlaprobe.evaluator.ir.expressions import Cond as Cond
from mlaprobe.evaluator.ir.expressions import Const as Const
from mlaprobe.evaluator.ir.expressions import Construct as Construct
from mlaprobe.evaluator.ir.expressions import Deref as Deref
from mlaprobe.evaluator.ir.expressions import Fold as Fold
from mlaprobe.evaluator.ir.expressions import Format as Format
from mlaprobe.evaluator.ir.expressions import Function as Function
from mlaprobe.evaluator.ir.expressions import Index as Index
from mlaprobe.evaluator.ir.expressions import Launch as Launch
from mlaprobe.evaluator.ir.expressions import Mapping as Mapping
from mlaprobe.evaluator.ir.expressions import Members as Members
from mlaprobe.evaluator.ir.expressions import Name as Name
from mlaprobe.evaluator.ir.expressions import New as New
from mlaprobe.evaluator.ir.expressions import Opaque as Opaque
from mlaprobe.evaluator.ir.expressions import Sequence as Sequence
from mlaprobe.evaluator.ir.expressions import Slice as Slice
from mlaprobe.evaluator.ir.expressions import Specialised as Specialised
from mlaprobe.evaluator.ir.expressions import Star as Star
from mlaprobe.evaluator.ir.expressions import Unary as Unary
from mlaprobe.evaluator.ir.statements import Assign as Assign
from mlaprobe.evaluator.ir.statements import Block as Block
from mlaprobe.evaluator.ir.statements import Check as Check
from mlaprobe.evaluator.ir.statements import Decl as Decl
from mlaprobe.evaluator.ir.statements import Define as Define
from mlaprobe.evaluator.ir.statements import ExprStmt as ExprStmt
from mlaprobe.evaluator.ir.statements import ForEach as ForEach
from mlaprobe.evaluator.ir.statements import If as If
from mlaprobe.evaluator.ir.statements import Import as Import
from mlaprobe.evaluator.ir.statements import Jump as Jump
from mlaprobe.evaluator.ir.statements import OpaqueStmt as OpaqueStmt
from mlaprobe.evaluator.ir.statements import Outer as Outer
from mlaprobe.evaluator.ir.statements import Remove as Remove
from mlaprobe.evaluator.ir.statements import Return as Return
from mlaprobe.evaluator.ir.statements import Switch as Switch
from mlaprobe.evaluator.ir.statements import Throw as Throw
from mlaprobe.evaluator.ir.statements import Try as Try
from mlaprobe.evaluator.ir.statements import Unpack as Unpack
from mlaprobe.evaluator.ir.statements import While as While
from mlaprobe.evaluator.ir.statements import With as With
