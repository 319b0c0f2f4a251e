"""Tensors in gdb: `p scores` shows shape and elements, `p $at(scores, 0, 1)` one element, where the
elements are floats of 32 or 64 bits, or integers.

Once in a session, or as a line of ~/.gdbinit:  source tools/gdb/rungs.py
"""
import gdb
import gdb.printing

# DType's name in C++, and the type of an element; others have blocks or 16 bits, which gdb cannot show as numbers.
ELEMENTS = {"f32": "float", "f64": "double", "i32": "int", "i64": "long"}
ROWS, COLUMNS = 12, 10  # as print("x", x) shows


def dims_of(tensor):
    shape = tensor["shape_"]
    rank = max(0, min(4, int(shape["rank_"])))
    elements = shape["dims_"]
    return [int(elements[i]) for i in range(rank)]


def elements_of(tensor):
    """A pointer to the elements, or None where they are not numbers that gdb knows or lie elsewhere."""
    name = str(tensor["dtype_"]).rsplit("::", 1)[-1]
    if name not in ELEMENTS or not str(tensor["place_"]).endswith("host") or int(tensor["data_"]) == 0:
        return None
    return tensor["data_"].cast(gdb.lookup_type(ELEMENTS[name]).pointer())


class TensorPrinter:
    """A line for each row; what is left out is said."""

    def __init__(self, value):
        self.tensor = value["tensor_"] if value.type.strip_typedefs().name == "rungs::ConstTensor" else value

    def to_string(self):
        dims = dims_of(self.tensor)
        name = str(self.tensor["dtype_"]).rsplit("::", 1)[-1]
        title = "Tensor (%s) %s" % (", ".join(str(d) for d in dims), name)
        if int(self.tensor["data_"]) == 0:
            return "Tensor without memory"
        elements = elements_of(self.tensor)
        if elements is None:
            return title
        columns = dims[-1] if dims else 1
        rows = 1
        for d in dims[:-1]:
            rows *= d
        lines = []
        for r in range(min(rows, ROWS)):
            shown = ["%10.4g" % float(elements[r * columns + c]) for c in range(min(columns, COLUMNS))]
            lines.append(" ".join(shown) + (" ..." if columns > COLUMNS else ""))
        if rows > ROWS:
            lines.append("... and %d rows more" % (rows - ROWS))
        return "\n".join([title] + lines)


class At(gdb.Function):
    """$at(scores, 0, 1): one element. gdb cannot call an object, so scores(0, 1) means nothing to it."""

    def __init__(self):
        super().__init__("at")

    def invoke(self, value, *index):
        if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        tensor = value["tensor_"] if value.type.strip_typedefs().name == "rungs::ConstTensor" else value
        dims = dims_of(tensor)
        if len(index) != len(dims):
            raise gdb.GdbError("wanted %d indices, found %d" % (len(dims), len(index)))
        at = 0
        for i, size in zip(index, dims):
            if not 0 <= int(i) < size:
                raise gdb.GdbError("index %d is outside a dimension of %d" % (int(i), size))
            at = at * size + int(i)
        elements = elements_of(tensor)
        if elements is None:
            raise gdb.GdbError("the elements are no numbers that gdb knows")
        return elements[at]


At()
printers = gdb.printing.RegexpCollectionPrettyPrinter("rungs")
printers.add_printer("Tensor", "^rungs::(Const)?Tensor$", TensorPrinter)
gdb.printing.register_pretty_printer(None, printers, replace=True)
