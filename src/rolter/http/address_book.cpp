#include "rolter/http/address_book.h"

#include <boost/asio/ip/address.hpp>

namespace rolter::http {

std::shared_ptr<AddressCell> AddressBook::cell(const std::string& host, std::uint16_t port) {
  const std::lock_guard lock(mutex_);
  std::erase_if(cells_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<AddressCell>& known = cells_[{host, port}];
  if (auto cell = known.lock()) {
    return cell;
  }
  Addresses addresses;
  boost::system::error_code not_a_literal;
  if (const auto literal = asio::ip::make_address(host, not_a_literal); !not_a_literal) {
    addresses.emplace_back(literal, port);
  }
  auto cell = std::make_shared<AddressCell>(std::make_shared<const Addresses>(addresses));
  known = cell;
  return cell;
}

}  // namespace rolter::http
