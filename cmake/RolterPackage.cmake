# `cmake --build build/release --target package`, or `make package`: a .deb with the program, its
# systemd unit, a first configuration, the man page, and what a monitoring system needs.
include(GNUInstallDirs)
set(deploy ${CMAKE_SOURCE_DIR}/deploy)
install(TARGETS rolter DESTINATION bin)
install(FILES ${deploy}/systemd/rolter.service DESTINATION lib/systemd/system)
install(FILES ${deploy}/debian/rolter.toml DESTINATION /etc/rolter)
install(FILES ${deploy}/debian/rolter.1 DESTINATION share/man/man1)
install(FILES ${deploy}/completions/rolter.bash DESTINATION share/bash-completion/completions
        RENAME rolter)
install(FILES ${deploy}/completions/_rolter DESTINATION share/zsh/vendor-completions)
install(FILES ${deploy}/completions/rolter.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/rolter RENAME copyright)
install(FILES ${deploy}/grafana/rolter.json ${deploy}/prometheus/rolter_alerts.yml
        DESTINATION share/doc/rolter/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rolter)
set(CPACK_PACKAGE_VENDOR Rolter)
set(CPACK_PACKAGE_CONTACT "Rolter <rolter@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Gateway for vLLM replicas that routes by KV-cache prefix")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_OUTPUT_FILE_PREFIX ${CMAKE_BINARY_DIR}/packages)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
    ${deploy}/debian/conffiles;${deploy}/debian/postinst;${deploy}/debian/prerm;${deploy}/debian/postrm)
include(CPack)
