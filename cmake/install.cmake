# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: the command, the libraries, the headers, and what
# pkg-config, find_package, man and the shells look for. The target `product` is all of
# it. Nothing installed names the folder it is in, so that it can be moved as a whole.
include(CMakePackageConfigHelpers)

set(WEFT_MAN ${PROJECT_BINARY_DIR}/weft.1)
add_custom_command(
  OUTPUT ${WEFT_MAN}
  COMMAND ${PROJECT_SOURCE_DIR}/share/man/make $<TARGET_FILE:weft> ${WEFT_MAN}
  DEPENDS weft share/man/make share/man/weft.1.in
  COMMENT "Writing the manual page" VERBATIM)
add_custom_target(product ALL DEPENDS
  weft weft_shared weft_static weftrt_shared weftrt_static ${WEFT_MAN})

# The packages lead to the prefix from where they lie.
file(RELATIVE_PATH WEFT_PC_TO_PREFIX
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
list(JOIN WEFT_NEEDS " " WEFT_PC_NEEDS)
list(TRANSFORM WEFT_LIBS REPLACE "^([^-])" "-l\\1" OUTPUT_VARIABLE WEFT_PC_LIBS)
list(JOIN WEFT_PC_LIBS " " WEFT_PC_LIBS)
configure_file(cmake/weft.pc.in weft.pc @ONLY)
configure_file(cmake/weftrt.pc.in weftrt.pc @ONLY)
set(WEFT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
configure_file(cmake/weftConfig.cmake.in weftConfig.cmake @ONLY)
write_basic_package_version_file(weftConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS weft)
install(TARGETS weft_shared weftrt_shared weftrt_static EXPORT weftTargets)
install(TARGETS weft_static EXPORT weftStaticTargets)
install(FILES include/weft.h include/weft_rt.h TYPE INCLUDE)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})
install(EXPORT weftStaticTargets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake
  ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake DESTINATION ${WEFT_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/weft.pc ${PROJECT_BINARY_DIR}/weftrt.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES ${WEFT_MAN} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES share/completions/weft.bash RENAME weft
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES share/completions/_weft
  DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
