# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C file that holds FILES (name=path, separated by commas) as texts named
# emit_text_name (see src/emit/dialect_c.c).
string(REPLACE "," ";" files "${FILES}")
set(arrays "")
foreach(file ${files})
  string(REGEX REPLACE "=.*" "" name "${file}")
  string(REGEX REPLACE "^[^=]*=" "" path "${file}")
  file(READ ${path} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "extern const char emit_text_${name}[];\n"
    "const char emit_text_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${arrays}")
