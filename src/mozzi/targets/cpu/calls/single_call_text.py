"""The machine code of short calls (`single_call`), as LLVM IR text: one function for all kernels.

It gets the record of a kernel and the arguments, as METH_FASTCALL has them.
"""

from __future__ import annotations

__all__ = ["AXES_MAX", "CALL", "CONTIGUOUS", "FIELDS", "OPERANDS_MAX", "WRITEABLE", "load"]

CONTIGUOUS, WRITEABLE = 0x0001, 0x0400  # flags of arrays
OPERANDS_MAX, AXES_MAX = 16, 48
# The record of a kernel, in words of 64 bits; behind these, for each operand, its ndim and shape.
FIELDS = (
    "inputs", "outputs", "loop", "data", "general", "array_type", "dtype", "empty", "return",
    "tuple_new", "tuple_set", "incref", "decref", "vectorcall", "alarms", "most", "float_type",
    "int_type", "int_to_double", "clear", "out_name", "tuple_type", "itemsize",
)  # fmt: skip


def load(out: str, base: str, offset: int, T: str = "i64") -> str:
    """IR that loads a value from so many bytes behind a pointer."""
    return (
        f"  {out}.p = getelementptr i8, ptr {base}, i64 {offset}\n  {out} = load {T}, ptr {out}.p\n"
    )


def _field(name: str, T: str = "ptr") -> str:
    return load(f"%{name}", "%record", 8 * FIELDS.index(name), T)


_OPERAND = 8 * len(FIELDS)

#: The function, for the module that all kernels share; its arguments are those of METH_FASTCALL.
CALL = f"""define ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %names) {{
start:
  %pointers = alloca [{OPERANDS_MAX} x ptr]
  %results = alloca [{OPERANDS_MAX} x ptr]
  %steps = alloca [{OPERANDS_MAX + AXES_MAX} x i64]
  %numbers = alloca [{OPERANDS_MAX} x double]
  %count = alloca i64
  %none = alloca i64
  store i64 0, ptr %none
  %odims = alloca [{AXES_MAX + 1} x i64]
  %lows = alloca [{OPERANDS_MAX} x ptr]
  %highs = alloca [{OPERANDS_MAX} x ptr]
  %slot = getelementptr i8, ptr %self, i64 16
  %record = load ptr, ptr %slot
{_field("inputs", "i64")}{_field("outputs", "i64")}{_field("array_type")}{_field("dtype")}
{_field("most", "i64")}{_field("float_type")}{_field("int_type")}{_field("itemsize", "i64")}
  %all = add i64 %inputs, %outputs
  %shapes = getelementptr i8, ptr %record, i64 {_OPERAND}
  %fits = icmp eq i64 %nargs, %inputs
  %bare = icmp eq ptr %names, null
  br i1 %fits, label %keywords, label %elsewhere
keywords:
  br i1 %bare, label %ready, label %named
named:
{_field("out_name")}{load("%names.count", "%names", 16)}{load("%names.first", "%names", 24, "ptr")}
  %one.name = icmp eq i64 %names.count, 1
  %is.out = icmp eq ptr %names.first, %out_name
  %only.out = and i1 %one.name, %is.out
  %single.out = icmp eq i64 %outputs, 1
  %gp = getelementptr ptr, ptr %args, i64 %nargs
  br i1 %only.out, label %out.kind, label %elsewhere
out.kind:
  br i1 %single.out, label %ready, label %out.tuple
out.tuple:
{_field("tuple_type")}  %given.tuple = load ptr, ptr %gp
{load("%given.type", "%given.tuple", 8, "ptr")}  %is.tuple = icmp eq ptr %given.type, %tuple_type
  br i1 %is.tuple, label %out.count, label %elsewhere
out.count:
{load("%given.count", "%given.tuple", 16)}
  %given.items = getelementptr i8, ptr %given.tuple, i64 24
  %as.many = icmp eq i64 %given.count, %outputs
  br i1 %as.many, label %ready, label %elsewhere
ready:
  %given = phi ptr [null, %keywords], [%gp, %out.kind], [%given.items, %out.count]
  br label %input
input:
  %k = phi i64 [0, %ready], [%k1, %taken]
  %shape = phi ptr [%shapes, %ready], [%shape1, %taken]
  %axis = phi i64 [%all, %ready], [%axis1, %taken]
  %batch = phi i64 [0, %ready], [%batch1, %taken]
  %left = icmp slt i64 %k, %inputs
  br i1 %left, label %look, label %counted
look:
  %ap = getelementptr ptr, ptr %args, i64 %k
  %a = load ptr, ptr %ap
{load("%type", "%a", 8, "ptr")}  %is.array = icmp eq ptr %type, %array_type
  %ndim = load i64, ptr %shape
  br i1 %is.array, label %array, label %other
other:
  %no.axes = icmp eq i64 %ndim, 0
  br i1 %no.axes, label %number, label %elsewhere
number:
  %float.memory = getelementptr i8, ptr %a, i64 16
  %is.float = icmp eq ptr %type, %float_type
  br i1 %is.float, label %taken, label %not.float
not.float:
  %is.int = icmp eq ptr %type, %int_type
  br i1 %is.int, label %integer, label %elsewhere
integer:
{_field("int_to_double")}  %double = call double %int_to_double(ptr %a)
  %int.memory = getelementptr double, ptr %numbers, i64 %k
  store double %double, ptr %int.memory
  %minus.one = fcmp oeq double %double, -1.0  ; or too large for a double
  br i1 %minus.one, label %clear.error, label %taken
clear.error:
{_field("clear")}  call void %clear()
  br label %elsewhere
array:
{load("%descr", "%a", 56, "ptr")}{load("%nd32", "%a", 24, "i32")}
{load("%dims.all", "%a", 32, "ptr")}{load("%strides.all", "%a", 40, "ptr")}
{load("%memory", "%a", 16, "ptr")}  %nd = sext i32 %nd32 to i64
  %is.type = icmp eq ptr %descr, %dtype
  br i1 %is.type, label %axes, label %elsewhere
axes:
  %extra = sub i64 %nd, %ndim
  switch i64 %extra, label %elsewhere [
    i64 0, label %core
    i64 1, label %batched
  ]
batched:
  %here = load i64, ptr %dims.all
  %step.here = load i64, ptr %strides.all
  %unknown = icmp eq i64 %batch, 0
  %agrees = icmp eq i64 %batch, %here
  %is.one = or i1 %unknown, %agrees
  %not.empty = icmp sgt i64 %here, 0
  %short = icmp sle i64 %here, %most
  %fine = and i1 %not.empty, %short
  %ok.batch = and i1 %is.one, %fine
  br i1 %ok.batch, label %core, label %elsewhere
core:
  %batch.now = phi i64 [%batch, %axes], [%here, %batched]
  %step.now = phi i64 [0, %axes], [%step.here, %batched]
  %dims = getelementptr i64, ptr %dims.all, i64 %extra
  %strides = getelementptr i64, ptr %strides.all, i64 %extra
  %others = sub i64 %batch.now, 1
  %far = mul i64 %others, %step.now
  %low.batch = call i64 @llvm.smin.i64(i64 %far, i64 0)
  %high.batch = call i64 @llvm.smax.i64(i64 %far, i64 0)
  br label %dim
dim:
  %d = phi i64 [0, %core], [%d1, %same]
  %low = phi i64 [%low.batch, %core], [%low1, %same]
  %high = phi i64 [%high.batch, %core], [%high1, %same]
  %d1 = add i64 %d, 1
  %more.dims = icmp slt i64 %d, %ndim
  br i1 %more.dims, label %compare, label %taken
compare:
  %np = getelementptr i64, ptr %dims, i64 %d
  %n = load i64, ptr %np
  %wp = getelementptr i64, ptr %shape, i64 %d1
  %want = load i64, ptr %wp
  %is.n = icmp eq i64 %n, %want
  br i1 %is.n, label %same, label %elsewhere
same:
  %tp = getelementptr i64, ptr %strides, i64 %d
  %t = load i64, ptr %tp
  %at = add i64 %axis, %d
  %sp = getelementptr i64, ptr %steps, i64 %at
  store i64 %t, ptr %sp
  %n.others = sub i64 %n, 1
  %reach = mul i64 %n.others, %t
  %down = call i64 @llvm.smin.i64(i64 %reach, i64 0)
  %up = call i64 @llvm.smax.i64(i64 %reach, i64 0)
  %low1 = add i64 %low, %down
  %high1 = add i64 %high, %up
  br label %dim
taken:
  %place = phi ptr [%memory, %dim], [%float.memory, %number], [%int.memory, %integer]
  %below = phi i64 [%low, %dim], [0, %number], [0, %integer]
  %above = phi i64 [%high, %dim], [0, %number], [0, %integer]
  %batch1 = phi i64 [%batch.now, %dim], [%batch, %number], [%batch, %integer]
  %step = phi i64 [%step.now, %dim], [0, %number], [0, %integer]
  %lowest = getelementptr i8, ptr %place, i64 %below
  %above1 = add i64 %above, %itemsize
  %highest = getelementptr i8, ptr %place, i64 %above1
  %lowp = getelementptr ptr, ptr %lows, i64 %k
  store ptr %lowest, ptr %lowp
  %highp = getelementptr ptr, ptr %highs, i64 %k
  store ptr %highest, ptr %highp
  %pp = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %place, ptr %pp
  %zp = getelementptr i64, ptr %steps, i64 %k
  store i64 %step, ptr %zp
  %axis1 = add i64 %axis, %ndim
  %words = add i64 %ndim, 1
  %shape1 = getelementptr i64, ptr %shape, i64 %words
  %k1 = add i64 %k, 1
  br label %input
counted:
  %is.batch = icmp sgt i64 %batch, 0
  %first = zext i1 %is.batch to i64
  %n.all = call i64 @llvm.smax.i64(i64 %batch, i64 1)
  store i64 %n.all, ptr %count
  store i64 %batch, ptr %odims
  %ocore = getelementptr i64, ptr %odims, i64 %first
  br label %output
output:
  %m = phi i64 [0, %counted], [%m1, %made]
  %oshape = phi ptr [%shape, %counted], [%oshape1, %made]
  %oaxis = phi i64 [%axis, %counted], [%oaxis1, %made]
  %oleft = icmp slt i64 %m, %outputs
  br i1 %oleft, label %new, label %run
new:
{_field("incref")}{_field("empty")}
  %ondim = load i64, ptr %oshape
  %ond = add i64 %ondim, %first
  %ond32 = trunc i64 %ond to i32
  %one.by.one = mul i64 %n.all, %itemsize
  br label %size
size:
  %z = phi i64 [0, %new], [%z1, %sized]
  %bytes = phi i64 [%one.by.one, %new], [%bytes1, %sized]
  %more.sizes = icmp slt i64 %z, %ondim
  br i1 %more.sizes, label %sized, label %how
sized:
  %z1 = add i64 %z, 1
  %fromp = getelementptr i64, ptr %oshape, i64 %z1
  %from = load i64, ptr %fromp
  %top = getelementptr i64, ptr %ocore, i64 %z
  store i64 %from, ptr %top
  %bytes1 = mul i64 %bytes, %from
  br label %size
how:
  %is.new = icmp eq ptr %given, null
  br i1 %is.new, label %make, label %use
make:
  call void %incref(ptr %dtype)
  %o.new = call ptr %empty(i32 %ond32, ptr %odims, ptr %dtype, i32 0)
  %failed = icmp eq ptr %o.new, null
  br i1 %failed, label %undo, label %fill
use:
  %up0 = getelementptr ptr, ptr %given, i64 %m
  %o.given = load ptr, ptr %up0
{load("%utype", "%o.given", 8, "ptr")}  %u.array = icmp eq ptr %utype, %array_type
  br i1 %u.array, label %use.array, label %misfit
use.array:
{load("%udescr", "%o.given", 56, "ptr")}{load("%und", "%o.given", 24, "i32")}
{load("%udims", "%o.given", 32, "ptr")}{load("%umemory", "%o.given", 16, "ptr")}
{load("%uflags", "%o.given", 64, "i32")}  %u.dtype = icmp eq ptr %udescr, %dtype
  %u.nd = icmp eq i32 %und, %ond32
  %u.bits = and i32 %uflags, {CONTIGUOUS | WRITEABLE}
  %u.flags = icmp eq i32 %u.bits, {CONTIGUOUS | WRITEABLE}
  %u.head = and i1 %u.dtype, %u.nd
  %u.fits = and i1 %u.head, %u.flags
  %uend = getelementptr i8, ptr %umemory, i64 %bytes
  br i1 %u.fits, label %use.dim, label %misfit
use.dim:
  %ud = phi i64 [0, %use.array], [%ud1, %use.same]
  %u.more = icmp slt i64 %ud, %ond
  br i1 %u.more, label %use.compare, label %use.apart
use.compare:
  %uwp = getelementptr i64, ptr %odims, i64 %ud
  %uw = load i64, ptr %uwp
  %uhp = getelementptr i64, ptr %udims, i64 %ud
  %uh = load i64, ptr %uhp
  %u.same = icmp eq i64 %uw, %uh
  br i1 %u.same, label %use.same, label %misfit
use.same:
  %ud1 = add i64 %ud, 1
  br label %use.dim
use.apart:
  %before.this = add i64 %inputs, %m
  br label %use.next
use.next:
  %uk = phi i64 [0, %use.apart], [%uk1, %use.other]
  %u.others = icmp slt i64 %uk, %before.this
  br i1 %u.others, label %use.other, label %use.it
use.other:
  %ulp = getelementptr ptr, ptr %lows, i64 %uk
  %ul = load ptr, ptr %ulp
  %uhp2 = getelementptr ptr, ptr %highs, i64 %uk
  %uh2 = load ptr, ptr %uhp2
  %u.from = icmp ult ptr %ul, %uend
  %u.till = icmp ult ptr %umemory, %uh2
  %u.overlap = and i1 %u.from, %u.till
  %uk1 = add i64 %uk, 1
  br i1 %u.overlap, label %misfit, label %use.next
use.it:
  %olp = getelementptr ptr, ptr %lows, i64 %before.this
  store ptr %umemory, ptr %olp
  %ohp = getelementptr ptr, ptr %highs, i64 %before.this
  store ptr %uend, ptr %ohp
  call void %incref(ptr %o.given)
  br label %fill
misfit:
  br label %undo
fill:
  %o = phi ptr [%o.new, %make], [%o.given, %use.it]
  %rp = getelementptr ptr, ptr %results, i64 %m
  store ptr %o, ptr %rp
{load("%omemory", "%o", 16, "ptr")}{load("%ostrides.all", "%o", 40, "ptr")}
  %ostrides = getelementptr i64, ptr %ostrides.all, i64 %first
  %outer = select i1 %is.batch, ptr %ostrides.all, ptr %none  ; results of no axes have no strides
  %ostep = load i64, ptr %outer
  %ok = add i64 %inputs, %m
  %op = getelementptr ptr, ptr %pointers, i64 %ok
  store ptr %omemory, ptr %op
  %ozp = getelementptr i64, ptr %steps, i64 %ok
  store i64 %ostep, ptr %ozp
  br label %stride
stride:
  %e = phi i64 [0, %fill], [%e1, %copy]
  %more.strides = icmp slt i64 %e, %ondim
  br i1 %more.strides, label %copy, label %made
copy:
  %fp = getelementptr i64, ptr %ostrides, i64 %e
  %f = load i64, ptr %fp
  %oat = add i64 %oaxis, %e
  %osp = getelementptr i64, ptr %steps, i64 %oat
  store i64 %f, ptr %osp
  %e1 = add i64 %e, 1
  br label %stride
made:
  %oaxis1 = add i64 %oaxis, %ondim
  %owords = add i64 %ondim, 1
  %oshape1 = getelementptr i64, ptr %oshape, i64 %owords
  %m1 = add i64 %m, 1
  br label %output
run:
{_field("loop")}{_field("data")}{_field("return")}{_field("alarms")}
  %before = load volatile i64, ptr %alarms
  call void %loop(ptr %pointers, ptr %count, ptr %steps, ptr %data)
  %after = load volatile i64, ptr %alarms
  %quiet = icmp eq i64 %before, %after
  br i1 %quiet, label %give, label %repeat
give:
  %single = icmp eq i64 %outputs, 1
  %made.new = icmp eq ptr %given, null
  br i1 %single, label %alone, label %several
alone:
  %r0 = load ptr, ptr %results
  br i1 %made.new, label %alone.new, label %alone.given
alone.given:
  ret ptr %r0
alone.new:
  %r1 = call ptr %return(ptr %r0)
  ret ptr %r1
several:
{_field("tuple_new")}{_field("tuple_set")}  %tuple = call ptr %tuple_new(i64 %outputs)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %undo, label %item
item:
  %i = phi i64 [0, %several], [%i1, %item.set]
  %ip = getelementptr ptr, ptr %results, i64 %i
  %ix = load ptr, ptr %ip
  br i1 %made.new, label %item.new, label %item.set
item.new:
  %iz = call ptr %return(ptr %ix)
  br label %item.set
item.set:
  %iy = phi ptr [%ix, %item], [%iz, %item.new]
  %set = call i32 %tuple_set(ptr %tuple, i64 %i, ptr %iy)
  %i1 = add i64 %i, 1
  %more.items = icmp slt i64 %i1, %outputs
  br i1 %more.items, label %item, label %whole
whole:
  ret ptr %tuple
repeat:
  br label %undo
undo:
  %u = phi i64 [%m, %make], [%m, %misfit], [%outputs, %several], [%outputs, %repeat]
  %again = phi i1 [false, %make], [true, %misfit], [false, %several], [true, %repeat]
{_field("decref")}  br label %drop
drop:
  %v = phi i64 [%u, %undo], [%v1, %free]
  %some = icmp sgt i64 %v, 0
  br i1 %some, label %free, label %nothing
free:
  %v1 = sub i64 %v, 1
  %vp = getelementptr ptr, ptr %results, i64 %v1
  %vx = load ptr, ptr %vp
  call void %decref(ptr %vx)
  br label %drop
nothing:
  br i1 %again, label %elsewhere, label %null
null:
  ret ptr null
elsewhere:
{_field("general")}{_field("vectorcall")}
  %g = call ptr %vectorcall(ptr %general, ptr %args, i64 %nargs, ptr %names)
  ret ptr %g
}}"""
