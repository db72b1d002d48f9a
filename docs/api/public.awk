# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What Doxygen reads of a header: neither what is in namespace Impl, nor deduction guides. A class has
# as its own what it has of Impl::Solver or Impl::PreconditionerBase. Lines are emptied, not deleted, so that warnings have their
# numbers. Doxygen runs it in the root of the sources.

BEGIN {
  base_of["Solver"] = "src/solder/solvers/detail/solver.hpp"
  base_of["PreconditionerBase"] = "src/solder/preconditioners/detail/preconditioner_base.hpp"
}

# The braces that a line opens, less those that it closes.
function depth_of(line,   opened, closed) {
  gsub(/\\./, "", line)
  gsub(/"[^"]*"/, "", line)
  gsub(/'[^']'/, "", line)
  sub(/\/\/.*/, "", line)
  opened = gsub(/[{]/, "", line)
  closed = gsub(/[}]/, "", line)
  return opened - closed
}

function put_declaration(   found) {
  if (declaration ~ /\)[ \n]*->[^;]*;$/) gsub(/[^\n]/, "", declaration)
  if (match(declaration, /[ \n]*: public Impl::(Solver|PreconditionerBase)<[^{]*[{]$/)) {
    base = base_of[declaration ~ /: public Impl::Solver</ ? "Solver" : "PreconditionerBase"]
    found = substr(declaration, RSTART)
    gsub(/[^\n]/, "", found)
    declaration = substr(declaration, 1, RSTART - 1) " {" found
  }
  print declaration
  declaration = ""
}

function put_public_members_of_base(   line, is_public) {
  while ((getline line < base) > 0) {
    if (line ~ /^ (protected|private):/) is_public = 0
    if (is_public) print line
    if (line ~ /^ public:/) is_public = 1
  }
  close(base)
}

depth > 0 {
  depth += depth_of($0)
  print ""
  next
}
/^namespace Impl(::[a-z_:]*)? [{]$/ {
  depth = 1
  print ""
  next
}
declaration != "" || /^template </ {
  declaration = declaration == "" ? $0 : declaration "\n" $0
  if ($0 ~ /[;{}]$/) put_declaration()
  next
}
base != "" && /^};$/ {
  print " public:"
  put_public_members_of_base()
  base = ""
}
{ print }
END { if (declaration != "") print declaration }
