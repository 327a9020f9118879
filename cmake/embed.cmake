# SPDX-License-Identifier: Apache-2.0
# Writes OUT, a C file that holds every .weft file below ROOT (see check/check.h).
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/*.weft)
list(SORT files)
set(arrays "")
set(rows "")
set(number 0)
foreach(file ${files})
  file(READ ${ROOT}/${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "\\.weft$" "" path ${file})
  file(READ ${ROOT}/${file} text)
  string(FIND "${text}" "open " open_at)
  string(APPEND arrays "static const unsigned char text_${number}[] = {${bytes}0};\n")
  string(APPEND rows
    "    {\"${path}\", (const char *)text_${number}, sizeof text_${number} - 1, "
    "${open_at} >= 0},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "#include <stddef.h>\n#include \"check/check.h\"\n${arrays}"
  "const LibFile lib_files[] = {\n${rows}};\n"
  "const size_t lib_file_count = ${number};\n")
